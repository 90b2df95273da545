"""What the words of two plain facts say of each other, without any model."""
