"""x"""


def write(folder):
    pass
