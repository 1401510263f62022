"""Adapters for the Tinker training API: renderers with the verbs of its cookbook.

Owns what is shaped as Tinker has it; rendering and parsing are the renderer's own.

    from templc.tinker.cookbook import get_renderer
    renderer = get_renderer("qwen3_instruct", tokenizer)
    prompt = renderer.build_generation_prompt(messages)
"""
