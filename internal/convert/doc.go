// Package convert turns manifests of the API before karpenter.sh/v1 into v1: Provisioner, AWSNodeTemplate, Machine, and
// NodePool, EC2NodeClass and NodeClaim of v1beta1.
//
// Its promises:
//
//   - What a manifest meant then it means now: defaults of the old API that v1 has not are written out.
//   - Nothing is lost in silence. What v1 does not support, and what was guessed, is a Warning with file, document and field.
//   - Documents that need no conversion come out byte for byte, so converting twice is converting once.
//   - Comments and the order of fields stay where the YAML library can keep them. Template expressions ({{ }}, ${ },
//     {% %}) are carried through as they are.
//   - What comes out is checked against the schemas of the CRDs; what an API server would still reject is an invalid Warning.
//
// Everything is a pure function of the input.
package convert
