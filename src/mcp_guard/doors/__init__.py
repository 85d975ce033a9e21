"""Doors: thin adapters that let one framework's tool calls pass through a guard.

Each is a module and an extra of its own, and imported by nothing here.
"""
