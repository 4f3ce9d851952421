"""What is made when the site is built: links, formulas, the pages of commands and settings, figures, the gallery."""
