"""An OpenAPI document as the tests ask it: what is said of a route, and does a reply keep to it."""

import copy
import glob
import json
import os
import sys

import harness

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
CLIENTS = os.path.join(harness.ROOT, "third_party", "conformance")


def schema_checker():
    """The jsonschema module, from the conformance tests' environment; None where that is not there."""
    try:
        import jsonschema
    except ImportError:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        sys.path += glob.glob(os.path.join(CLIENTS, "lib", version, "site-packages"))
        try:
            import jsonschema
        except ImportError:
            return None
    return jsonschema


def closed(schema):
    """The same schema, but an object may have no member that is not named: so a reply's unnamed field is found."""
    if isinstance(schema, list):
        return [closed(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) if key not in ("const", "enum", "examples", "default") else value
           for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        out["additionalProperties"] = False
    return out


class Document:
    def __init__(self, text):
        self.tree = json.loads(text)
        self._closed_schemas = closed(self.tree["components"]["schemas"])

    def resolved(self, item):
        """What a reference means, however many lie behind each other."""
        while isinstance(item, dict) and "$ref" in item:
            item = self.at(item["$ref"])
        return item

    def at(self, reference):
        """The part that a $ref names; KeyError when there is none."""
        if not reference.startswith("#/"):
            raise KeyError(reference)
        part = self.tree
        for key in reference[2:].split("/"):
            part = part[key.replace("~1", "/").replace("~0", "~")]
        return part

    def operations(self):
        """[(path, METHOD, operation)]"""
        return [(path, method.upper(), item[method]) for path, item in self.tree["paths"].items()
                for method in METHODS if method in item]

    def operation(self, path, method):
        return self.tree["paths"][path][method.lower()]

    def filled(self, path, operation):
        """The path with the examples of its parameters in place of their names."""
        for parameter in map(self.resolved, operation["parameters"]):
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", parameter["example"])
        return path

    def nodes(self, item=None, where="#"):
        """Every object of the document with its place."""
        item = self.tree if item is None else item
        if isinstance(item, dict):
            yield where, item
        children = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, child in children:
            if isinstance(child, (dict, list)):
                yield from self.nodes(child, f"{where}/{key}")

    def response(self, path, method, status):
        """What is said of this status, or None."""
        responses = self.operation(path, method)["responses"]
        return self.resolved(responses[str(status)]) if str(status) in responses else None

    def event_data(self, schema, name):
        """The schemas that the data of an event of this name may have, as JSON."""
        schema = self.resolved(schema)
        branches = schema.get("oneOf", schema.get("anyOf"))
        if branches is not None:
            return [end for branch in branches for end in self.event_data(branch, name)]
        properties = schema.get("properties", {})
        if properties.get("event", {}).get("const") != name:
            return []
        data = properties["data"]
        ends = [part["contentSchema"] for part in data.get("anyOf", [data]) if "contentSchema" in part]
        return [deeper for end in ends for deeper in end.get("oneOf", [end])]

    def errors_of(self, value, schema, checker, strict=False):
        """Why a value is not what a schema says: the error that tells most. Empty when it is."""
        schemas = self._closed_schemas if strict else self.tree["components"]["schemas"]
        whole = copy.copy(closed(schema) if strict else schema)
        if "$ref" in whole:
            whole = {"allOf": [whole]}
        whole["components"] = {"schemas": schemas}
        found = checker.Draft202012Validator(whole).iter_errors(value)
        best = checker.exceptions.best_match(found)
        return [] if best is None else [f"{best.json_path}: {best.message[:300]}"]
