"""RoBERTa-small-fr: 4 layers, width 512, feed-forward 512, 8 heads, 256 positions."""

from fairseq.models import register_model_architecture
from fairseq.models.roberta.model import base_architecture


@register_model_architecture("roberta", "roberta_small")
def roberta_small(args):
    """Set the course's sizes where the command line has none; the other defaults are those of `roberta_base`."""
    sizes = {
        "encoder_layers": 4,
        "encoder_embed_dim": 512,
        "encoder_ffn_embed_dim": 512,
        "encoder_attention_heads": 8,
        "max_positions": 256,
    }
    for name, value in sizes.items():
        if getattr(args, name, None) is None:
            setattr(args, name, value)
    base_architecture(args)
