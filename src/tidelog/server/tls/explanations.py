"""Why a TLS handshake failed, in words for the broker's log: what the other side did, and what to do."""

import ssl

_OF_CLIENTS = {
    "HTTP_REQUEST": "sent an HTTP request to a TLS port",
    "WRONG_VERSION_NUMBER": "sent plain text to a TLS port; its security.protocol should be SSL or SASL_SSL",
    "UNSUPPORTED_PROTOCOL": "offered only versions of TLS that ssl.enabled.protocols excludes",
    "NO_SHARED_CIPHER": "offered no cipher suite that this broker accepts",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "sent no certificate, which ssl.client.auth=required asks for",
    "TLSV1_ALERT_UNKNOWN_CA": "does not trust this broker's certificate: give it the authority's",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "does not accept this broker's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "does not accept this broker's certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "says that this broker's certificate has expired: replace it",
}

_OF_BROKERS = {
    "WRONG_VERSION_NUMBER": "its listener does not speak TLS: give all brokers the same protocol for it",
    "UNSUPPORTED_PROTOCOL": "it shares no version of TLS with this broker: compare ssl.enabled.protocols",
    "TLSV1_ALERT_PROTOCOL_VERSION": "it shares no version of TLS with this broker: compare "
    "ssl.enabled.protocols",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it refused the handshake: compare ssl.cipher.suites and "
    "ssl.enabled.protocols, and see whether it demands a certificate (ssl.keystore.location here)",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it demands a certificate: set ssl.keystore.location here",
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust this broker's certificate: add the authority to its "
    "ssl.truststore",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it says that this broker's certificate has expired: replace the file "
    "of ssl.keystore.location",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it does not accept this broker's certificate: see its log",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it does not accept this broker's certificate: see its log",
}

_NOT_YET_VALID, _EXPIRED, _WRONG_NAME, _WRONG_ADDRESS = 9, 10, 62, 64


def is_about_certificate(error: BaseException) -> bool:
    """Whether a client failed for its certificate, or for the lack of one."""
    is_missing = getattr(error, "reason", None) == "PEER_DID_NOT_RETURN_A_CERTIFICATE"
    return is_missing or isinstance(error, ssl.SSLCertVerificationError)


def explain_client(error: BaseException) -> str:
    """Of a handshake with a client. The client is the subject of the sentence."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code == _EXPIRED:
            return "sent a certificate that has expired; it needs a new one"
        if error.verify_code == _NOT_YET_VALID:
            return "sent a certificate that is not valid yet; compare the clocks"
        return f"sent a certificate that ssl.truststore does not vouch for: {error.verify_message}"
    reason = getattr(error, "reason", None) or ""
    if reason in _OF_CLIENTS:
        return _OF_CLIENTS[reason]
    if isinstance(error, ssl.SSLEOFError | ConnectionError):
        return "left during the TLS handshake"
    return f"failed the TLS handshake: {reason or error}"


def explain_broker(error: BaseException) -> str:
    """Of a handshake with another broker, to which this one connects."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code == _EXPIRED:
            return "its certificate has expired: replace the file of ssl.keystore.location there"
        if error.verify_code == _NOT_YET_VALID:
            return "its certificate is not valid yet: compare the clocks"
        if error.verify_code in (_WRONG_NAME, _WRONG_ADDRESS):
            return f"its certificate is made out to another host: {error.verify_message}"
        return f"its certificate is not trusted: {error.verify_message}; add its authority to ssl.truststore"
    reason = getattr(error, "reason", None) or ""
    if reason in _OF_BROKERS:
        return _OF_BROKERS[reason]
    if isinstance(error, ssl.SSLEOFError | ConnectionError):
        return "it ended the TLS handshake: its listener may not speak TLS; see its log"
    return f"the TLS handshake failed: {reason or error}"
