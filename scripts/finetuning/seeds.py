"""The seeds of a run."""


def run_seeds(settings, seed):
    """Return the seeds of a run's fresh weights and of its order of reviews; dropout uses the run's seed.

    Args:
        settings: what `framework_settings` returns.
        seed: seed of the run.

    Returns:
        dict: init_seed, data_seed: the run's seed where the settings have none (null).
    """
    return {key: seed if settings[key] is None else settings[key] for key in ("init_seed", "data_seed")}
