"""Doors: thin adapters that let one framework's tool calls pass through a guard. Each is a module of its own, an extra of
the distribution, and imported by nothing here.
"""
