"""The distributions of fresh weights: recorded from the calls that draw them, and tested on the values."""

import dataclasses
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from common.errors import StudyError

# The chance that a correctly drawn tensor is refused. A run has at most 7 of them, so a study of a thousand runs is
# refused by chance less than once in a million.
FALSE_ALARM = 1e-10
# The distribution of the values is compared with the law's at this many points.
POINTS = 1000


@dataclasses.dataclass(frozen=True)
class Draw:
    """The law of values drawn independently.

    Attributes:
        family: "normal" (mean 0), "uniform" (around 0) or "constant".
        parameter: the standard deviation of a normal law, the bound of a uniform one, the constant.
        zeros: [(place of the first, number)] of values that were set to 0 afterwards: an embedding's padding row.
    """

    family: str
    parameter: float
    zeros: tuple = ()

    def name(self, shape):
        """Return the law in words, such as "normal, sd 0.02", "uniform, sd 1/sqrt(3 in)" or "constant 0".

        Args:
            shape: shape of the tensor, (out, in) or (rows, width).

        Source: the rules are those of torch.nn.Linear (uniform, 1/sqrt(3 in)), Xavier, and BERT (0.02).
        """
        if self.family == "constant":
            return f"constant {self.parameter:g}"
        sd = self.parameter / 3**0.5 if self.family == "uniform" else self.parameter
        fan_out, fan_in = shape[0], shape[-1]
        rules = {
            "0.02": 0.02,
            "1/sqrt(3 in)": (3 * fan_in) ** -0.5,
            "1/sqrt(width)": fan_in**-0.5,
            "sqrt(2/(in + out))": (2 / (fan_in + fan_out)) ** 0.5,
        }
        named = (rule for rule, value in rules.items() if math.isclose(sd, value, rel_tol=1e-9))
        return f"{self.family}, sd {next(named, format(sd, '.6g'))}"


class RecordedDraws(TorchDispatchMode):
    """A context that records every draw into a tensor in memory, whichever library makes it.

    PyTorch's initialisers and those of both frameworks end in the same calls: normal, uniform or constant values
    written in place, or a copy of such a tensor.
    """

    def __init__(self):
        super().__init__()
        # {address of the memory: (Draw, the memory itself, so that no later tensor gets its address)}
        self._draws = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Make the call, and record its draw."""
        result = function(*args, **(kwargs or {}))
        if function.overloadpacket.__name__.endswith("_") and isinstance(args[0], torch.Tensor):
            # A model is first described on the device "meta", which has no values.
            if args[0].device.type != "meta":
                self._note(args[0], _law(function, args, kwargs or {}, self.draw_of))
        return result

    def _note(self, tensor, law):
        """Record the law (None: unknown) of the values written to a tensor, or to a part of one."""
        memory = tensor.untyped_storage()
        earlier, _ = self._draws.pop(memory.data_ptr(), (None, None))
        if memory.nbytes() != tensor.numel() * tensor.element_size():
            # A row of zeros does not change the law of the other rows; after anything else the law is unknown.
            row = law == Draw("constant", 0.0) and tensor.is_contiguous() and earlier
            part = (tensor.storage_offset(), tensor.numel())
            law = dataclasses.replace(earlier, zeros=(*earlier.zeros, part)) if row else None
        if law:
            self._draws[memory.data_ptr()] = law, memory

    def draw_of(self, tensor):
        """Return the `Draw` that filled a tensor, or None where it was loaded or changed later."""
        return self._draws.get(tensor.untyped_storage().data_ptr(), (None, None))[0]

    def named(self, model):
        """Return {name: Draw} of a model's drawn parameters."""
        drawn = {name: self.draw_of(parameter) for name, parameter in model.named_parameters()}
        return {name: draw for name, draw in drawn.items() if draw}


def _law(function, args, kwargs, known):
    """Return the `Draw` of a call that writes to its first argument, or None for a law without a name here."""
    # The arguments lack values that equal their default.
    given = {a.name: a.default_value for a in function._schema.arguments if a.has_default_value()}
    given |= {a.name: value for a, value in zip(function._schema.arguments, args, strict=False)} | kwargs
    match function.overloadpacket.__name__:
        case "normal_" if given["mean"] == 0:
            return Draw("normal", float(given["std"]))
        case "uniform_" if given["from"] == -given["to"]:
            return Draw("uniform", float(given["to"]))
        case "fill_":
            return Draw("constant", float(given["value"]))
        case "zero_":
            return Draw("constant", 0.0)
        case "copy_" if given["src"].shape == given["self"].shape:
            return known(given["src"])
    return None


def distance(values, draw):
    """Return the largest distance between the distribution of values and the law's, at `POINTS` points.

    Args:
        values: float tensor (n,).
        draw: `Draw`, normal or uniform.

    Returns:
        float: 0 to 1; at most Kolmogorov and Smirnov's statistic, which is the largest over all points.
    """
    scaled = values.detach().float().cpu() / draw.parameter
    # The law's distribution function makes its values uniform between 0 and 1.
    shares = torch.special.ndtr(scaled) if draw.family == "normal" else (scaled + 1) / 2
    found = torch.histc(shares, POINTS, 0, 1).double().cumsum(0) / values.numel()
    return float((found - torch.arange(1, POINTS + 1, dtype=torch.float64) / POINTS).abs().max())


def allowed_distance(n, false_alarm=FALSE_ALARM):
    """Return the distance that n values of the law exceed with a chance of at most `false_alarm`.

    P(distance > e) <= 2 exp(-2 n e^2) for every n and every continuous law. The values are float32: their rounding
    moves the distance by far less than the 1e-6 added here.

    Source: Massart (1990), The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality.
    """
    return math.sqrt(math.log(2 / false_alarm) / (2 * n)) + 1e-6


def describe_start(model, names, draws):
    """Return the laws of fresh weights in words, after testing that the values in memory follow them.

    Args:
        model: model before the first update.
        names: {what it is: name of the parameter}.
        draws: {name of the parameter: `Draw`}, recorded while the model was built.

    Returns:
        dict: {what it is: law}.

    Raises:
        StudyError: a tensor that was not drawn by a law known here, or whose values do not follow it.
    """
    laws, parameters = {}, dict(model.named_parameters())
    for what, name in names.items():
        tensor, draw = parameters[name], draws.get(name)
        if draw is None:
            raise StudyError(
                f"{name} was drawn by no law that is known here, so it cannot be told whether the frameworks start "
                "alike: did the version of fairseq, Transformers or PyTorch change? `make doctor` compares the "
                "installed packages with the lock files"
            )
        fault = _fault(tensor.detach(), draw)
        if fault:
            raise StudyError(
                f"{name} was drawn as {draw.name(tensor.shape)}, but before the first update {fault}. The same seed "
                "gives the same values, so training again will not help: something changes the weights after they "
                "are drawn; `make doctor` compares the installed packages with the lock files"
            )
        laws[what] = draw.name(tensor.shape)
    return laws


def _fault(tensor, draw):
    """Return in words how a tensor's values contradict the law that drew them, or None."""
    values, rest = tensor.flatten(), torch.ones(tensor.numel(), dtype=torch.bool)
    for first, number in draw.zeros:
        if values[first : first + number].any():
            return "values that were set to 0 are not 0"
        rest[first : first + number] = False
    values = values[rest.to(values.device)] if draw.zeros else values
    if draw.family == "constant" or draw.parameter == 0:
        constant = draw.parameter if draw.family == "constant" else 0.0
        return None if bool((values == constant).all()) else "its values differ from that constant"
    if not bool(values.isfinite().all()):
        return "a value is not a finite number"
    if draw.family == "uniform" and float(values.abs().max()) > draw.parameter * (1 + 1e-6):
        return f"a value lies outside of -{draw.parameter:g} to {draw.parameter:g}"
    found, allowed = distance(values, draw), allowed_distance(values.numel())
    if found > allowed:
        return (
            f"its {values.numel()} values lie at a distance of {found:.3g} from that law (at most {allowed:.3g}, "
            f"which chance alone exceeds once in {1 / FALSE_ALARM:.0e} draws)"
        )
    return None
