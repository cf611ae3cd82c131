"""Visits a site whose people come from a SAML provider, which is played here, and prints what became of it."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import threading
import zlib
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

TIME = "%Y-%m-%dT%H:%M:%SZ"
PROVIDER = "https://provider.example.org/saml"
ACS = "http://evals.example.org/sign-on/saml/provider/acs/"
METADATA = """<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{provider}">
<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>
<ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{provider}/login"/>
</md:IDPSSODescriptor></md:EntityDescriptor>"""
ASSERTION = """<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a{request}" Version="2.0"
IssueInstant="{now}"><saml:Issuer>{provider}</saml:Issuer><saml:Subject>
<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">_once{request}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
NotOnOrAfter="{later}" Recipient="{acs}" {answers}/></saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="{earlier}" NotOnOrAfter="{later}"><saml:AudienceRestriction>
<saml:Audience>http://evals.example.org/sign-on/saml/provider/metadata/</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement AuthnInstant="{now}"><saml:AuthnContext><saml:AuthnContextClassRef>
urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
<saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>"""
RESPONSE = """<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r{request}" Version="2.0"
IssueInstant="{now}" Destination="{acs}" {answers}>
<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">{provider}</saml:Issuer><samlp:Status>
<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>{assertion}</samlp:Response>"""


class Provider:
    """A SAML provider that says of people what it is told."""

    def __init__(self, folder: Path) -> None:
        key, name = rsa.generate_private_key(65537, 2048), x509.Name([])
        now = datetime.now(UTC)
        made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        self.certificate = made.sign(key, SHA256()).public_bytes(Encoding.PEM).decode()
        self.key = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        inner = "".join(self.certificate.splitlines()[1:-1])
        (folder / "metadata.xml").write_text(METADATA.format(provider=PROVIDER, certificate=inner))

    def response(self, request_id: str, attributes: dict[str, list[str]], *, is_signed: bool = True) -> str:
        """Return what the browser brings: who somebody is, in answer to a request, or to none."""
        from onelogin.saml2.utils import OneLogin_Saml2_Utils

        now = datetime.now(UTC)
        values = {
            "now": now.strftime(TIME),
            "earlier": (now - timedelta(minutes=5)).strftime(TIME),
            "later": (now + timedelta(minutes=30)).strftime(TIME),
            "request": request_id or "none",
            "answers": f'InResponseTo="{request_id}"' if request_id else "",
            "provider": PROVIDER,
            "acs": ACS,
            "attributes": "".join(
                f'<saml:Attribute Name="{name}">'
                + "".join(f"<saml:AttributeValue>{text}</saml:AttributeValue>" for text in texts)
                + "</saml:Attribute>"
                for name, texts in attributes.items()
            ),
        }
        assertion = ASSERTION.format(**values)
        if is_signed:
            assertion = OneLogin_Saml2_Utils.add_sign(assertion, self.key, self.certificate).decode()
        return base64.b64encode(RESPONSE.format(assertion=assertion, **values).encode()).decode()


def main() -> None:
    """Sign in as several people and print what came of each."""
    folder = Path(sys.argv[1])
    provider = Provider(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["EVALSITE_SAML_METADATA_URL"] = f"http://127.0.0.1:{server.server_port}/metadata.xml"
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    from django.test.utils import setup_test_environment

    setup_test_environment()
    call_command("migrate", verbosity=0)

    def visit(attributes: dict[str, list[str]], *, is_asked: bool = True, is_signed: bool = True) -> tuple[str, Any]:
        client = Client(headers={"Host": "evals.example.org"})
        to = client.get("/sign-on/saml/provider/login/")["Location"]
        asked = zlib.decompress(base64.b64decode(parse_qs(urlsplit(to).query)["SAMLRequest"][0]), -15).decode()
        found = re.search(r'\bID="([^"]+)"', asked)
        assert found is not None
        said = provider.response(found[1] if is_asked else "", attributes, is_signed=is_signed)
        return to.partition("?")[0], client.post("/sign-on/saml/provider/acs/", {"SAMLResponse": said}, follow=True)

    def words(answer: Any) -> str:
        found = re.search(r"(Example Org did not|The provider did not|None of your)[^.]*\.", answer.content.decode())
        return found[0] if found else answer.content.decode()

    ada = {"lasting": ["7"], "login": ["ada"], "mail": ["ada@example.org"], "memberOf": ["chess", "lab"]}
    to, answer = visit(ada)
    person, role = answer.context["user"], str(answer.context["role"])
    visit(ada)
    result = {
        "to": to,
        "ada": [person.username, person.email, role],
        "again": User.objects.count(),
        "unsigned": words(visit(ada, is_signed=False)[1]),
        "unasked": words(visit(ada, is_asked=False)[1]),
        "nameless": words(visit({"login": ["eve"], "memberOf": ["lab"]})[1]),
        "groupless": words(visit({"lasting": ["8"], "login": ["ben"]})[1]),
        "people": User.objects.count(),
    }
    server.shutdown()
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main()
