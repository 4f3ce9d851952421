"""The compiled steps of ELAS: arrays and scalars in, arrays out."""
