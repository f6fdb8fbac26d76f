"""The errors that a caller may meet; the command line turns each into one line and exit code 2."""


class AliasingError(Exception):
    """Base of all errors that this package raises on purpose."""


class InputError(AliasingError):
    """The caller gave something that cannot be used: a file, a name, an option, an array."""


class UnsupportedError(AliasingError):
    """A thing that TVM, or this version of the project, cannot do."""


class NoDeviceError(AliasingError):
    """The target needs a device that this machine does not have."""


class VerifyError(AliasingError):
    """The verifier found hazards in a module that this project built.

    Attributes
    ----------
    hazards : list of Hazard
        What was found.
    """

    def __init__(self, message, hazards=()):
        super().__init__(message)
        self.hazards = list(hazards)
