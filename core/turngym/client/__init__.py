"""Clients of the wire protocol: asynchronous (``aio``), synchronous (``sync``), gymnasium (``gym``), and policies.

``calls`` says what each call sends and how its answer reads, ``patience`` when it is tried again, ``recovery`` how an episode
goes on after its session is lost. The drivers share all three.
"""
