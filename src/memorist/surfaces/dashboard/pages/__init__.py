"""One module for each page. Each has a `pages` object that collects its routes."""
