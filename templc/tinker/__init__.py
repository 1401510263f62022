"""Adapters for the Tinker training API, which MinT and `templc.local` speak too.

`cookbook` has renderers with the verbs of the Tinker cookbook, `datum` makes training data of trajectories. Rendering
and parsing are the renderer's own.

    from templc.tinker.cookbook import get_renderer
    renderer = get_renderer("qwen3_instruct", tokenizer)
    prompt = renderer.build_generation_prompt(messages)
"""
