"""The schemas that the chart's manifests are checked with, made anew from Kubernetes' own files.

    python -m tests.kube.schema_files SWAGGER CRD…

SWAGGER is `api/openapi-spec/swagger.json` of Kubernetes, each CRD a definition of the Prometheus operator.
The results are strict: a misspelt field is an error, where the server itself would drop it silently.
Descriptions are left out, and each file holds what its kind needs and no more, so that no test downloads
anything.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

DIRECTORY = Path(__file__).parent / "schemas"
KINDS = {
    "configmap-v1": "io.k8s.api.core.v1.ConfigMap",
    "pod-v1": "io.k8s.api.core.v1.Pod",
    "service-v1": "io.k8s.api.core.v1.Service",
    "serviceaccount-v1": "io.k8s.api.core.v1.ServiceAccount",
    "statefulset-apps-v1": "io.k8s.api.apps.v1.StatefulSet",
    "poddisruptionbudget-policy-v1": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "networkpolicy-networking-v1": "io.k8s.api.networking.v1.NetworkPolicy",
    "clusterrole-rbac-v1": "io.k8s.api.rbac.v1.ClusterRole",
    "clusterrolebinding-rbac-v1": "io.k8s.api.rbac.v1.ClusterRoleBinding",
}
PREFIX = "#/definitions/"
INT_OR_STRING = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
SCALARS = {  # what the server takes for these, in place of what swagger can say of them
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": INT_OR_STRING,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"anyOf": [{"type": "string"}, {"type": "number"}]},
}
KEPT = ("type", "format", "enum", "required", "pattern", "minimum", "maximum", "minItems", "maxItems")


def strict(schema: dict[str, Any], *, is_root: bool = False) -> dict[str, Any]:
    """The same without prose, where an object has the properties that are named and no others."""
    if schema.get("x-kubernetes-int-or-string"):
        return INT_OR_STRING
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    made = {key: schema[key] for key in KEPT if key in schema and key != "format"}
    if "properties" in schema:
        made["properties"] = {name: strict(found) for name, found in schema["properties"].items()}
        made["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields", False))
    elif isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = strict(schema["additionalProperties"])
    if "items" in schema:
        made["items"] = strict(schema["items"])
    if is_root and "properties" in made:
        made["required"] = sorted({*made.get("required", ()), "apiVersion", "kind", "metadata"})
        if made["properties"].get("metadata") == {"type": "object"}:  # of a custom resource
            made["properties"]["metadata"] = {"type": "object", "required": ["name"]}
    return made


def of_kind(definitions: dict[str, Any], name: str) -> dict[str, Any]:
    needed: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        found = waiting.pop()
        if found in needed:
            continue
        needed[found] = SCALARS.get(found) or strict(definitions[found], is_root=found == name)
        waiting += [ref.removeprefix(PREFIX) for ref in references(needed[found])]
    root = needed.pop(name)
    return {"$schema": "http://json-schema.org/draft-07/schema#", **root, "definitions": needed}


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [ref for item in schema for ref in references(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [ref for value in schema.values() for ref in references(value)]


def of_custom_resource(definition: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    spec = definition["spec"]
    [version] = [found for found in spec["versions"] if found["storage"]]
    name = f"{spec['names']['kind'].lower()}-{spec['group'].partition('.')[0]}-{version['name']}"
    schema = strict(version["schema"]["openAPIV3Schema"], is_root=True)
    return name, {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


def main(swagger: str, *custom: str) -> None:
    definitions = json.loads(Path(swagger).read_text())["definitions"]
    made = {file: of_kind(definitions, name) for file, name in KINDS.items()}
    made |= dict(of_custom_resource(yaml.safe_load(Path(path).read_text())) for path in custom)
    DIRECTORY.mkdir(exist_ok=True)
    for file, schema in made.items():
        text = json.dumps(schema, separators=(",", ":"), sort_keys=True)
        (DIRECTORY / f"{file}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
