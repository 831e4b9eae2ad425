"""Tables copied under other keys."""
