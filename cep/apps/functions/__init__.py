"""Functions of the language's namespaces, such as `str:upper`, each computed from the values of one row."""
