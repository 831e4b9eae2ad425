"""The rules of the project: which part may use which, and its prose."""
