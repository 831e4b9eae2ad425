"""A real HDFS of one name node and one data node, in a process of its own."""
