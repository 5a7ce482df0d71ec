#!/usr/bin/env python3
"""Assay on a SageMaker endpoint, for whoever runs it there.

    deploy.py repository --stack assay                       the ECR repository; prints where to push the image
    deploy.py model model.tar.gz --bucket B                  checks what `assay pack` made, uploads it, prints its URL
    deploy.py up --stack assay --image URI --model S3URL     model, endpoint, scaling, role; waits until it serves
    deploy.py status --stack assay                           the endpoint's state, instances and last failure
    deploy.py invoke --stack assay body.json                 one request, the reply on standard output
    deploy.py down --stack assay                             deletes all but the repository

Everything is one CloudFormation stack, template.yaml beside this file. Needs boto3 and the caller's AWS credentials and
region. Exit codes: 0, 1 AWS refused or the deployment failed, 2 an argument is wrong.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import tarfile
from typing import Any, Dict, List, Optional

import boto3
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGE = re.compile(r"\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z0-9._/-]+@sha256:[0-9a-f]{64}")
MODEL = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/((?:.+/)?model\.tar\.gz)")
SETTINGS = {"instance_type": "InstanceType", "min_instances": "MinInstances", "max_instances": "MaxInstances",
            "target_concurrency": "TargetConcurrency", "context_tokens": "ContextTokens",
            "startup_seconds": "StartupSeconds", "repository_name": "RepositoryName", "endpoint_name": "EndpointName",
            "gpu_layers": "GpuLayers", "inference_ami": "InferenceAmi"}
REPOSITORY = "llama-cpp"  # the template's own name for it
# An endpoint may take its whole start-up time, and as long again for a change that goes back.
WAIT = {"Delay": 30, "MaxAttempts": 360}


class Refused(Exception):
    """An argument is wrong: the message says which and why."""


class Failed(Exception):
    """AWS began and did not get to the end: the message says what it was about."""


def sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def check_archive(path: str) -> Dict[str, Any]:
    """The archive's manifest. Refuses what SageMaker would: links, or an archive without a model."""
    try:
        with tarfile.open(path, "r|gz") as archive:
            manifest: Optional[Dict[str, Any]] = None
            names: List[str] = []
            for member in archive:
                if not (member.isfile() or member.isdir()):
                    raise Refused(f"{path}: '{member.name}' is a link, which SageMaker refuses")
                if member.name == "manifest.json":
                    content = archive.extractfile(member)
                    assert content is not None
                    manifest = json.load(content)
                names.append(member.name)
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise Refused(f"{path}: {error}") from error
    if manifest is None or manifest.get("model") not in names:
        raise Refused(f"{path}: no manifest.json with a model that is there; make it with `assay pack`")
    return manifest


def upload_model(arguments: argparse.Namespace) -> None:
    """The key holds the archive's hash: another model is another URL, so a stack that names it is never surprised."""
    manifest = check_archive(arguments.archive)
    digest = sha256_of(arguments.archive)
    key = f"{arguments.prefix.strip('/')}/{digest[:16]}/model.tar.gz".lstrip("/")
    boto3.client("s3").upload_file(arguments.archive, arguments.bucket, key,
                                   ExtraArgs={"Metadata": {"sha256": digest, "assay": str(manifest.get("assay", ""))}})
    print(f"s3://{arguments.bucket}/{key}")


def stack_parameters(arguments: argparse.Namespace) -> List[Dict[str, str]]:
    values = {SETTINGS[name]: str(value) for name, value in vars(arguments).items()
              if name in SETTINGS and value is not None}
    if getattr(arguments, "image", None) is not None:
        if not IMAGE.fullmatch(arguments.image):
            raise Refused("--image: an ECR image by its digest, REGISTRY/NAME@sha256:..., as image-detail.json has it: "
                          "a tag can be moved to another image")
        model = MODEL.fullmatch(arguments.model)
        if model is None:
            raise Refused("--model: s3://BUCKET/.../model.tar.gz, as `deploy.py model` prints it")
        values.update(ImageUri=arguments.image, ModelBucket=model.group(1), ModelKey=model.group(2))
    low, high = values.get("MinInstances"), values.get("MaxInstances")
    if low and high and int(low) > int(high):
        raise Refused("--min-instances is above --max-instances")
    return [{"ParameterKey": key, "ParameterValue": value} for key, value in sorted(values.items())]


def existing_stack(client: Any, name: str) -> Optional[Dict[str, Any]]:
    try:
        return client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise


def kept_parameters(stack: Optional[Dict[str, Any]], wanted: List[Dict[str, str]]) -> List[Dict[str, str]]:
    """What the caller does not name stays as it is."""
    named = {parameter["ParameterKey"] for parameter in wanted}
    old = (stack or {}).get("Parameters", [])
    return [*wanted, *({"ParameterKey": parameter["ParameterKey"], "ParameterValue": parameter["ParameterValue"]}
                       for parameter in old if parameter["ParameterKey"] not in named)]


def repository_parameter(stack: Optional[Dict[str, Any]], wanted: List[Dict[str, str]]) -> List[Dict[str, str]]:
    """A repository outlives its stack, so a new stack may find one."""
    if stack is not None:
        return []
    name = next((one["ParameterValue"] for one in wanted if one["ParameterKey"] == "RepositoryName"), REPOSITORY)
    try:
        boto3.client("ecr").describe_repositories(repositoryNames=[name])
    except ClientError as error:
        if error.response["Error"]["Code"] != "RepositoryNotFoundException":
            raise
        return []
    return [{"ParameterKey": "MakesRepository", "ParameterValue": "false"}]


def check_image(image: str, parameters: List[Dict[str, str]]) -> None:
    """The endpoint's role may read one repository."""
    name = next((one["ParameterValue"] for one in parameters if one["ParameterKey"] == "RepositoryName"), REPOSITORY)
    if image.split("@")[0].split("/", 1)[1] != name:
        raise Refused(f"--image: it is not in the repository '{name}', the only one that this stack's role may read; "
                      "push it there, or name the other with --repository-name")


def failures(client: Any, name: str, since: str) -> str:
    """What went wrong first, in AWS's words: what came after it was only cancelled. `since`: the last event before."""
    found = []
    for event in client.describe_stack_events(StackName=name)["StackEvents"]:  # the latest first
        if event["EventId"] == since:
            break
        reason = event.get("ResourceStatusReason", "")
        if event["ResourceStatus"].endswith("_FAILED") and "cancelled" not in reason:
            found.append(f"{event['LogicalResourceId']}: {reason}")
    return "; ".join(reversed(found)) or "no reason was given; the stack's events may say more"


def last_event(client: Any, name: str) -> str:
    events = client.describe_stack_events(StackName=name)["StackEvents"]
    return events[0]["EventId"] if events else ""


def wait(client: Any, waiter: str, name: str, since: str) -> None:
    try:
        client.get_waiter(waiter).wait(StackName=name, WaiterConfig=WAIT)
    except WaiterError as error:
        raise Failed(f"the stack '{name}' failed: {failures(client, name, since)}") from error


def put_stack(arguments: argparse.Namespace) -> Dict[str, str]:
    """Makes or changes the stack and waits; its outputs."""
    client = boto3.client("cloudformation")
    with open(os.path.join(HERE, "template.yaml"), encoding="utf-8") as file:
        template = file.read()
    wanted = stack_parameters(arguments)
    stack = existing_stack(client, arguments.stack)
    if stack is not None and stack["StackStatus"] == "ROLLBACK_COMPLETE":
        raise Refused(f"--stack: '{arguments.stack}' could not be made, and is good for nothing but `deploy.py down`")
    wanted += repository_parameter(stack, wanted)
    request = {"StackName": arguments.stack, "TemplateBody": template, "Capabilities": ["CAPABILITY_IAM"],
               "Parameters": kept_parameters(stack, wanted)}
    if getattr(arguments, "image", None) is not None:
        check_image(arguments.image, request["Parameters"])
    try:
        if stack is None:
            client.create_stack(**request)
            wait(client, "stack_create_complete", arguments.stack, "")
        else:
            before = last_event(client, arguments.stack)
            client.update_stack(**request)
            wait(client, "stack_update_complete", arguments.stack, before)
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise
    done = existing_stack(client, arguments.stack) or {}
    return {output["OutputKey"]: output["OutputValue"] for output in done.get("Outputs", [])}


def repository(arguments: argparse.Namespace) -> None:
    print(put_stack(arguments)["RepositoryUri"])


def up(arguments: argparse.Namespace) -> None:
    print(put_stack(arguments)["EndpointName"])


def endpoint_of(stack: str) -> str:
    found = existing_stack(boto3.client("cloudformation"), stack)
    outputs = {output["OutputKey"]: output["OutputValue"] for output in (found or {}).get("Outputs", [])}
    if "EndpointName" not in outputs:
        raise Refused(f"--stack: '{stack}' has no endpoint; `deploy.py up` makes it")
    return outputs["EndpointName"]


def status(arguments: argparse.Namespace) -> None:
    endpoint = boto3.client("sagemaker").describe_endpoint(EndpointName=endpoint_of(arguments.stack))
    variant = (endpoint.get("ProductionVariants") or [{}])[0]
    print(json.dumps({"endpoint": endpoint["EndpointName"], "status": endpoint["EndpointStatus"],
                      "instances": variant.get("CurrentInstanceCount"), "failure": endpoint.get("FailureReason")}))


def invoke(arguments: argparse.Namespace) -> None:
    with open(arguments.body, "rb") as file:
        body = file.read()
    reply = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint_of(arguments.stack), ContentType="application/json", Accept="application/json", Body=body)
    sys.stdout.write(reply["Body"].read().decode() + "\n")


def down(arguments: argparse.Namespace) -> None:
    client = boto3.client("cloudformation")
    found = existing_stack(client, arguments.stack)
    if found is None:
        return
    before = last_event(client, arguments.stack)
    client.delete_stack(StackName=arguments.stack)
    wait(client, "stack_delete_complete", found["StackId"], before)


def whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return number


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="deploy.py", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = out.add_subparsers(dest="command", required=True)

    def command(name: str, run: Any) -> argparse.ArgumentParser:
        sub = commands.add_parser(name)
        sub.set_defaults(run=run)
        if name != "model":
            sub.add_argument("--stack", required=True)
        return sub

    model = command("model", upload_model)
    model.add_argument("archive")
    model.add_argument("--bucket", required=True)
    model.add_argument("--prefix", default="assay")
    command("repository", repository).add_argument("--repository-name")
    deployed = command("up", up)
    deployed.add_argument("--image", required=True, help="REGISTRY/NAME@sha256:...")
    deployed.add_argument("--model", required=True, help="s3://BUCKET/.../model.tar.gz")
    deployed.add_argument("--endpoint-name")
    deployed.add_argument("--repository-name", help="of the image, where this is the first command of its stack")
    deployed.add_argument("--instance-type")
    deployed.add_argument("--gpu-layers", help="999 for all; the image is one with CUDA")
    deployed.add_argument("--inference-ami", help="the host's image, which brings the GPU's driver")
    for name in ("min-instances", "max-instances", "target-concurrency", "context-tokens", "startup-seconds"):
        deployed.add_argument("--" + name, type=whole)
    command("status", status)
    command("invoke", invoke).add_argument("body", help="a file with the JSON to send")
    command("down", down)
    return out


def main(words: Optional[List[str]] = None) -> int:
    arguments = parser().parse_args(words)
    try:
        arguments.run(arguments)
    except Refused as reason:
        print(f"deploy.py: {reason}", file=sys.stderr)
        return 2
    except (Boto3Error, BotoCoreError, ClientError, Failed, OSError) as error:
        print(f"deploy.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
