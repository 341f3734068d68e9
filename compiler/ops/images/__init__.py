"""Images that are resized, and pictures of bytes."""
