"""The Model Context Protocol, over HTTP and on stdin and stdout."""
