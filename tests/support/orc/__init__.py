"""ORC files of the tests: `made` by ORC's own library, tails made by hand in `tails`; `tools` is ORC's own command."""
