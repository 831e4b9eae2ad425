"""Files mutated at random: a read ends in the rows that were written or in a named error, and the JVM stays alive."""
