"""What an agent saw, stored verbatim: messages, tool outputs and documents."""
