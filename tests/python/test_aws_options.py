"""`pme.AwsKms` gives exactly the options that were set, and ARNs are keys of columns like any other id."""

import json

import pme_parquet as pme

ARN = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def test_aws_needs_no_option_but_its_name() -> None:
    assert pme.AwsKms().options() == {"kms": "aws"}


def test_each_field_becomes_its_option() -> None:
    keys = pme.AwsKms("eu-central-1", "https://vpce-1.example", {"team": "payroll", "über": 'a "b"'})
    options = keys.options()
    assert json.loads(options.pop("kms.aws.encryptionContext")) == {"team": "payroll", "über": 'a "b"'}
    assert options == {"kms": "aws", "kms.aws.region": "eu-central-1", "kms.aws.endpoint": "https://vpce-1.example"}


def test_an_arn_names_the_key_of_columns() -> None:
    options = pme.Encryption(kms=pme.AwsKms(), footer_key=ARN, column_keys={ARN: ["name", "address"]}).options()
    assert options["footerKey"] == ARN
    assert json.loads(options["columnKeys"]) == {ARN: ["name", "address"]}
