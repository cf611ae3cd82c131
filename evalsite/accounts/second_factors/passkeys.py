"""Passkeys by fido2: what a browser is asked, and whether what it answers is right."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.crypto import salted_hmac

from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused

if TYPE_CHECKING:  # fido2 is loaded where a passkey is used
    from fido2.server import Fido2Server
    from fido2.webauthn import AttestedCredentialData

WRONG = "This passkey was not accepted. Try again, or use another way."


@dataclass(frozen=True, slots=True)
class PasskeyQuestion:
    """What a browser is asked, and what has to be kept until it answers."""

    options: str  # JSON
    state: JsonDict


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey as it is stored: what its signatures are checked with, the digest of its identifier, and its count."""

    token: str
    digest: str
    counter: int


def ask_for_new(host: str, *, person_key: int, name: str, known: Iterable[str]) -> PasskeyQuestion:
    """Ask a browser to make a passkey for a person, on a device that has none of those known."""
    from fido2.webauthn import PublicKeyCredentialUserEntity, ResidentKeyRequirement, UserVerificationRequirement

    user = PublicKeyCredentialUserEntity(name=name, id=_handle(person_key), display_name=name)
    options, state = _server(host).register_begin(
        user,
        [_credential(token) for token in known],
        resident_key_requirement=ResidentKeyRequirement.PREFERRED,
        user_verification=UserVerificationRequirement.PREFERRED,
    )
    return PasskeyQuestion(json.dumps(dict(options)["publicKey"]), state)


def read_new(host: str, *, state: JsonDict, answer: str) -> Passkey:
    """Return the passkey that a browser made. Raises: Refused."""
    try:
        made = _server(host).register_complete(state, _read(answer))
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(WRONG) from error
    data = made.credential_data
    assert data is not None, "fido2 has asked for it"
    return Passkey(base64.b64encode(bytes(data)).decode(), _digest(data.credential_id), made.counter)


def ask_for_one(host: str, *, known: Iterable[str], alone: bool) -> PasskeyQuestion:
    """Ask a browser for one of these passkeys; `alone`: for any, whose device has to know the person as well."""
    from fido2.webauthn import UserVerificationRequirement

    wanted = UserVerificationRequirement.REQUIRED if alone else UserVerificationRequirement.PREFERRED
    credentials = [_credential(token) for token in known]
    options, state = _server(host).authenticate_begin(credentials or None, user_verification=wanted)
    return PasskeyQuestion(json.dumps(dict(options)["publicKey"]), state)


def digest_in(answer: str) -> str:
    """Return the digest of the passkey that a browser's answer names. Raises: Refused."""
    from fido2.utils import websafe_decode

    try:
        return _digest(websafe_decode(_read(answer)["rawId"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(WRONG) from error


def check_answer(host: str, *, state: JsonDict, answer: str, passkey: Passkey, person_key: int) -> int:
    """Return the count of its uses that a passkey tells, where its signature is right.

    Raises:
        Refused: it is not, it names another person, or it has counted less than before: somebody copied it.
    """
    from fido2.webauthn import AuthenticationResponse

    try:
        said = _read(answer)
        _server(host).authenticate_complete(state, [_credential(passkey.token)], said)
        response = AuthenticationResponse.from_dict(said).response
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(WRONG) from error
    count = response.authenticator_data.counter
    is_copy = (count or passkey.counter) and count <= passkey.counter
    if is_copy or (response.user_handle and response.user_handle != _handle(person_key)):
        raise Refused(WRONG)
    return count


def _server(host: str) -> Fido2Server:
    from fido2.server import Fido2Server
    from fido2.webauthn import PublicKeyCredentialRpEntity

    return Fido2Server(PublicKeyCredentialRpEntity(id=host, name="Evalsite"))


def _credential(token: str) -> AttestedCredentialData:
    from fido2.webauthn import AttestedCredentialData

    return AttestedCredentialData(base64.b64decode(token))


def _handle(person_key: int) -> bytes:
    return salted_hmac("evalsite.passkey", str(person_key), algorithm="sha256").digest()


def _digest(identifier: bytes) -> str:
    return hashlib.sha256(identifier).hexdigest()


def _read(answer: str) -> Mapping[str, Any]:
    said = json.loads(answer)
    if not isinstance(said, dict):
        raise TypeError("not an object")
    return said
