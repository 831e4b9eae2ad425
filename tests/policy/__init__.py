"""What must be refused is refused with a named error, and leaves nothing behind."""
