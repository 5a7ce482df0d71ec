"""deploy/sagemaker: the template's form, what its role may do, and deploy.py against a copy of AWS in this process."""

import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import warnings
from unittest import mock

import yaml

try:
    import boto3
    from moto import mock_aws
except ImportError as reason:
    raise unittest.SkipTest(f"{reason}: run tools/setup --dev") from reason

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(os.path.dirname(os.path.dirname(HERE)), "deploy", "sagemaker")
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:" + "a" * 64
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_SESSION_TOKEN": "x",
               "AWS_DEFAULT_REGION": "us-east-1"}


def load_deploy():
    spec = importlib.util.spec_from_file_location("deploy", os.path.join(FOLDER, "deploy.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Intrinsics(yaml.SafeLoader):
    """CloudFormation's short forms: !Ref x is {"Ref": x}, !Sub x is {"Fn::Sub": x}."""


def _intrinsic(loader, suffix, node):
    read = {yaml.ScalarNode: loader.construct_scalar,
            yaml.SequenceNode: lambda n: loader.construct_sequence(n, deep=True),
            yaml.MappingNode: lambda n: loader.construct_mapping(n, deep=True)}[type(node)]
    return {suffix if suffix in ("Ref", "Condition") else "Fn::" + suffix: read(node)}


Intrinsics.add_multi_constructor("!", _intrinsic)


def template():
    with open(os.path.join(FOLDER, "template.yaml"), encoding="utf-8") as file:
        return yaml.load(file, Intrinsics)


class TemplateTest(unittest.TestCase):
    def test_cfn_lint_finds_nothing(self):
        linter = os.path.join(os.path.dirname(sys.executable), "cfn-lint")
        done = subprocess.run([linter, "--regions", "us-east-1", "eu-central-1", "--",
                               os.path.join(FOLDER, "template.yaml")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, ""))

    def test_the_role_may_only_what_the_endpoint_needs(self):
        role = template()["Resources"]["ExecutionRole"]["Properties"]
        self.assertEqual(role["AssumeRolePolicyDocument"]["Statement"][0]
                         ["Principal"], {"Service": "sagemaker.amazonaws.com"})
        self.assertNotIn("ManagedPolicyArns", role)
        allowed = {}
        for statement in role["Policies"][0]["PolicyDocument"]["Statement"]:
            self.assertEqual(statement["Effect"], "Allow")
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            for action in actions:
                self.assertNotIn("*", action)
                allowed[action] = statement
        self.assertEqual(sorted(allowed), [
            "cloudwatch:PutMetricData", "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage",
            "ecr:GetAuthorizationToken", "ecr:GetDownloadUrlForLayer", "logs:CreateLogGroup", "logs:CreateLogStream",
            "logs:DescribeLogStreams", "logs:PutLogEvents", "s3:GetObject"])
        # Only two actions have no resources in IAM.
        self.assertEqual(sorted(action for action, statement in allowed.items() if statement["Resource"] == "*"),
                         ["cloudwatch:PutMetricData", "ecr:GetAuthorizationToken"])
        self.assertIn("cloudwatch:namespace", allowed["cloudwatch:PutMetricData"]["Condition"]["StringLike"])
        self.assertEqual(allowed["s3:GetObject"]["Resource"], {
                         "Fn::Sub": "arn:${AWS::Partition}:s3:::${ModelBucket}/${ModelKey}"})

    def test_the_endpoint_scales_on_concurrency_and_has_no_network(self):
        resources = template()["Resources"]
        policy = resources["ScalingPolicy"]["Properties"]["TargetTrackingScalingPolicyConfiguration"]
        self.assertEqual(policy["PredefinedMetricSpecification"]["PredefinedMetricType"],
                         "SageMakerVariantConcurrentRequestsPerModelHighResolution")
        self.assertIs(resources["Model"]["Properties"]["EnableNetworkIsolation"], True)
        variable = list(resources["Model"]["Properties"]["PrimaryContainer"]["Environment"])
        self.assertEqual(variable, ["SM_LLAMA_CPP_CTX_SIZE", "SM_LLAMA_CPP_N_GPU_LAYERS"])
        # Otherwise each change of the image would begin with MinInstances, however many there are.
        self.assertIs(resources["Endpoint"]["Properties"]["RetainAllVariantProperties"], True)

    def test_what_is_empty_is_not_said(self):
        resources = template()["Resources"]
        layers = resources["Model"]["Properties"]["PrimaryContainer"]["Environment"]["SM_LLAMA_CPP_N_GPU_LAYERS"]
        host = resources["EndpointConfig"]["Properties"]["ProductionVariants"][0]["InferenceAmiVersion"]
        for value, condition, name in ((layers, "HasGpuLayers", "GpuLayers"), (host, "HasInferenceAmi", "InferenceAmi")):
            self.assertEqual(value, {"Fn::If": [condition, {"Ref": name}, {"Ref": "AWS::NoValue"}]})

    def test_the_buildspec_has_its_phases_and_names_files_that_are_there(self):
        with open(os.path.join(FOLDER, "buildspec.yml"), encoding="utf-8") as file:
            spec = yaml.safe_load(file)
        self.assertEqual(spec["version"], 0.2)
        commands = [command for phase in ("pre_build", "build", "post_build")
                                          for command in spec["phases"][phase]["commands"]]
        self.assertTrue(all(isinstance(command, str) for command in commands))
        script = "\n".join(commands)
        for path in re.findall(r"deploy/[\w./]*\w", script):
            self.assertTrue(os.path.exists(os.path.join(FOLDER, "..", "..", path)), path)
        self.assertEqual(spec["artifacts"]["files"], ["image-detail.json"])
        # SageMaker refuses an index of images, which is what an image with attestations is, and OCI's manifests.
        self.assertEqual(spec["env"]["variables"]["BUILDX_NO_DEFAULT_ATTESTATIONS"], "1")
        child = next(command for command in commands if "deploy/sagemaker/Dockerfile" in command)
        self.assertIn("--output type=docker", child)

    def test_the_buildspec_takes_bases_that_anyone_may_have_and_the_dockerfiles_know(self):
        with open(os.path.join(FOLDER, "buildspec.yml"), encoding="utf-8") as file:
            commands = yaml.safe_load(file)["phases"]["pre_build"]["commands"]
        first = next(at for at, command in enumerate(commands) if command.startswith("DOCKERFILE="))
        root = os.path.join(FOLDER, "..", "..")
        for flavor, registry in (("cpu", "public.ecr.aws/docker/library/"), ("cuda", "nvcr.io/")):
            script = "\n".join([f"FLAVOR={flavor}", *commands[first:], 'echo "$DOCKERFILE $BASE $BUILD_BASE"'])
            said = subprocess.run(["bash", "-euo", "pipefail"], input=script, cwd=root, text=True, capture_output=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            name, *bases = said.stdout.split()
            with open(os.path.join(root, name), encoding="utf-8") as file:
                text = file.read()
            arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.M))
            for argument, base in zip(("BASE", "BUILD_BASE"), bases):
                usual = arguments[argument].replace("${BASE}", arguments["BASE"])
                usual = usual.replace("${CUDA}", arguments.get("CUDA", ""))
                self.assertEqual(base, registry + usual)
        checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)


class DeployTest(unittest.TestCase):
    def setUp(self):
        for context in (mock.patch.dict(os.environ, CREDENTIALS), mock_aws()):
            context.__enter__()
            self.addCleanup(context.__exit__, None, None, None)
        self.deploy = load_deploy()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        boto3.client("s3").create_bucket(Bucket="weights")

    def run_it(self, *words):
        """(exit code, output, errors)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # moto names what it has no copy of: the alarm and the scaling
            code = self.deploy.main(list(words))
        return code, out.getvalue().strip(), err.getvalue().strip()

    def archive(self, files, link=None):
        path = os.path.join(self.folder.name, "model.tar.gz")
        with tarfile.open(path, "w:gz") as tar:
            for name, text in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text))
            if link:
                entry = tarfile.TarInfo(link)
                entry.type = tarfile.SYMTYPE
                entry.linkname = "m.gguf"
                tar.addfile(entry)
        return path

    def packed(self):
        manifest = json.dumps({"format": "assay-model-archive-1", "assay": "0.1.0", "model": "m.gguf", "files": []})
        return self.archive({"manifest.json": manifest.encode(), "m.gguf": b"GGUF"})

    def test_a_model_goes_where_its_hash_says(self):
        path = self.packed()
        code, url, _ = self.run_it("model", path, "--bucket", "weights", "--prefix", "/a/")
        self.assertEqual(code, 0)
        digest = self.deploy.sha256_of(path)
        self.assertEqual(url, f"s3://weights/a/{digest[:16]}/model.tar.gz")
        stored = boto3.client("s3").head_object(Bucket="weights", Key=url.split("/", 3)[3])
        self.assertEqual(stored["Metadata"], {"sha256": digest, "assay": "0.1.0"})

    def test_what_sagemaker_would_refuse_is_not_uploaded(self):
        wrong = {"a link": lambda: self.archive({"manifest.json": b'{"model": "m.gguf"}', "m.gguf": b""}, link="l"),
                 "manifest.json": lambda: self.archive({"m.gguf": b"GGUF"}),
                 "with a model": lambda: self.archive({"manifest.json": b'{"model": "m.gguf"}'})}
        for text, make in wrong.items():
            code, _, error = self.run_it("model", make(), "--bucket", "weights")
            self.assertEqual(code, 2)
            self.assertIn(text, error)
        with open(os.path.join(self.folder.name, "model.tar.gz"), "wb") as file:
            file.write(b"no archive")
        self.assertEqual(self.run_it("model", file.name, "--bucket", "weights")[0], 2)
        self.assertNotIn("Contents", boto3.client("s3").list_objects_v2(Bucket="weights"))

    def test_a_bucket_that_is_not_there_is_said(self):
        code, _, error = self.run_it("model", self.packed(), "--bucket", "nowhere")
        self.assertEqual(code, 1)
        self.assertIn("NoSuchBucket", error)

    def deployed(self, *more, image=IMAGE):
        # moto knows no instance type newer than this one.
        return self.run_it("up", "--stack", "s", "--image", image, "--model", "s3://weights/a/model.tar.gz",
                           "--instance-type", "ml.c5.4xlarge", *more)

    def test_the_repository_comes_first_and_the_endpoint_later(self):
        code, uri, error = self.run_it("repository", "--stack", "s", "--repository-name", "mine")
        self.assertEqual(code, 0, error)
        self.assertTrue(uri.endswith("/mine"), uri)
        self.assertEqual(boto3.client("sagemaker").list_endpoints()["Endpoints"], [])
        # The role may read one repository.
        code, _, error = self.deployed()
        self.assertEqual(code, 2)
        self.assertIn("'mine'", error)
        mine = IMAGE.replace("llama-cpp", "mine")
        code, name, error = self.deployed("--max-instances", "3", image=mine)
        self.assertEqual(code, 0, error)
        # What the first call said still holds.
        self.assertEqual([r["repositoryName"] for r in boto3.client(
            "ecr").describe_repositories()["repositories"]], ["mine"])
        sagemaker = boto3.client("sagemaker")
        endpoint = sagemaker.describe_endpoint(EndpointName=name)  # moto chose it; AWS takes ours
        config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
        variant = config["ProductionVariants"][0]
        self.assertEqual(variant["InstanceType"], "ml.c5.4xlarge")
        model = sagemaker.describe_model(ModelName=variant["ModelName"])
        self.assertEqual(model["PrimaryContainer"]["Image"], mine)
        self.assertEqual(model["PrimaryContainer"]["ModelDataUrl"], "s3://weights/a/model.tar.gz")

    def test_a_repository_that_is_there_already_is_taken(self):
        # As the one that an earlier stack has left.
        boto3.client("ecr").create_repository(repositoryName="llama-cpp")
        code, uri, error = self.run_it("repository", "--stack", "s")
        self.assertEqual(code, 0, error)
        self.assertTrue(uri.endswith("/llama-cpp"), uri)
        stack = boto3.client("cloudformation").describe_stacks(StackName="s")["Stacks"][0]
        given = {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}
        self.assertEqual(given["MakesRepository"], "false")
        # And it stays so; moto cannot change a stack with a resource that its condition leaves out.
        self.assertIn({"ParameterKey": "MakesRepository", "ParameterValue": "false"}, self.deploy.kept_parameters(stack, []))

    def test_a_gpus_settings_reach_the_container(self):
        code, name, error = self.deployed("--gpu-layers", "999", "--inference-ami", "al2-ami-sagemaker-inference-gpu-2-1")
        self.assertEqual(code, 0, error)
        (model,) = boto3.client("sagemaker").list_models()["Models"]
        container = boto3.client("sagemaker").describe_model(ModelName=model["ModelName"])["PrimaryContainer"]
        self.assertEqual(container["Environment"], {"SM_LLAMA_CPP_CTX_SIZE": "8192", "SM_LLAMA_CPP_N_GPU_LAYERS": "999"})

    def test_what_failed_is_said_and_what_was_only_cancelled_is_not(self):
        events = [("5", "Model", "CREATE_FAILED", "Resource creation cancelled"), ("4", "s", "ROLLBACK_IN_PROGRESS", ""),
                  ("3", "Endpoint", "CREATE_FAILED", "ResourceLimitExceeded: ml.c7i.2xlarge"),
                  ("2", "Model", "CREATE_COMPLETE", ""), ("1", "Role", "CREATE_FAILED", "of an earlier try")]
        client = mock.Mock()
        client.describe_stack_events.return_value = {"StackEvents": [
            {"EventId": event, "LogicalResourceId": name, "ResourceStatus": state, "ResourceStatusReason": reason}
            for event, name, state, reason in events]}
        client.get_waiter.return_value.wait.side_effect = self.deploy.WaiterError("StackCreateComplete", "x", {})
        with self.assertRaises(self.deploy.Failed) as failed:
            self.deploy.wait(client, "stack_create_complete", "s", "1")
        self.assertEqual(str(failed.exception), "the stack 's' failed: Endpoint: ResourceLimitExceeded: ml.c7i.2xlarge")

    def test_a_stack_that_could_not_be_made_is_no_place_to_deploy_to(self):
        with mock.patch.object(self.deploy, "existing_stack", return_value={"StackStatus": "ROLLBACK_COMPLETE"}):
            code, _, error = self.deployed()
        self.assertEqual(code, 2)
        self.assertIn("deploy.py down", error)

    def test_status_and_down(self):
        self.assertEqual(self.run_it("status", "--stack", "s")[0], 2)
        code, name, error = self.deployed()
        self.assertEqual(code, 0, error)
        code, text, _ = self.run_it("status", "--stack", "s")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(text)["endpoint"], name)
        self.assertEqual(self.run_it("down", "--stack", "s")[0], 0)
        self.assertEqual(boto3.client("sagemaker").list_endpoints()["Endpoints"], [])

    def test_the_same_again_changes_nothing(self):
        code, name, error = self.deployed()
        self.assertEqual(code, 0, error)
        self.assertEqual(self.deployed()[:2], (0, name))

    def test_wrong_arguments_are_named_before_anything_is_made(self):
        for flag, words in {
            "--image": ["--image", "assay:latest", "--model", "s3://weights/model.tar.gz"],
            "--model": ["--image", IMAGE, "--model", "s3://weights/model.gguf"],
            "--min-instances": ["--image", IMAGE, "--model", "s3://weights/model.tar.gz", "--min-instances", "3",
                                "--max-instances", "2"],
        }.items():
            code, _, error = self.run_it("up", "--stack", "s", *words)
            self.assertEqual(code, 2, error)
            self.assertIn(flag, error)
        self.assertEqual(boto3.client("cloudformation").list_stacks()["StackSummaries"], [])


if __name__ == "__main__":
    unittest.main()
