"""Labels from files: label tables, annotation files, labels of debates."""
