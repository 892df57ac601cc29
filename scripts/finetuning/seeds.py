"""The seeds of a run."""


def run_seeds(settings, seed):
    """Return the seeds of a run's sources of chance, as far as they are not the default's.

    Args:
        settings: what `arm_settings` returns.
        seed: seed of the run.

    Returns:
        dict: init_seed, data_seed, of fresh weights and the order of reviews: the run's seed where the settings have
            none (null); dropout_seed where the settings fix it; split_seed, the run's, where it draws its own texts.
    """
    seeds = {key: seed if settings[key] is None else settings[key] for key in ("init_seed", "data_seed")}
    if "dropout_seed" in settings:
        seeds["dropout_seed"] = settings["dropout_seed"]
    return seeds | drawn(settings, seed)


def drawn(settings, seed):
    """Return {split_seed: the run's seed} where a run draws its own training and validation texts, else {}."""
    return {"split_seed": seed} if "draw" in settings else {}
