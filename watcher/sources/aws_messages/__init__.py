"""What AWS says on a queue: pure parsers, one file a kind of message.

``envelope.parse_message`` is the way in, ``registry.PARSERS`` the whole of what is understood.
"""
