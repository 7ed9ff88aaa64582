// Package convert converts manifests of Karpenter's API versions before v1 to v1: Provisioner, AWSNodeTemplate,
// Machine, and NodePool, EC2NodeClass and NodeClaim of v1beta1. It also converts manifests with apiVersion v1 that have
// fields of an older version.
//
// The package has these guarantees:
//
//   - The converted manifest has the same meaning: defaults of the old API that v1 does not have are written
//     explicitly.
//   - There is a Warning, with file, document and field, for every value that v1 does not support and every value that
//     was guessed.
//   - Documents that need no conversion are copied unchanged, so a second conversion changes nothing.
//   - Comments and the order of fields are kept as far as the YAML library allows. Template expressions ({{ }}, ${ },
//     {% %}) are copied unchanged, with two exceptions: in a converted document, toYaml with an indentation becomes
//     toJson, and the old name of a consolidation policy is replaced.
//   - The output is validated against the schemas of the CRDs; there is a Warning with Invalid set for every field
//     that an API server would reject, except fields with template expressions.
//
// The output depends only on the input and the Options.
package convert
