"""Array to array hot loops: no classes, no validation, no options."""
