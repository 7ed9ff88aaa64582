// Command image builds the container image of the controller without Docker and without a base image: an OCI layout on disk,
// for amd64 and arm64, with a bill of materials (SPDX) for each.
//
//	cd hack && go run ./image -version 1.2.3 -out dist/image
//
// The image has a static binary, the certificates of Mozilla's root programme, the licences, and nothing else. It runs
// as user 65532. The same source and compiler give the same digests, because the times of files are the epoch, or
// SOURCE_DATE_EPOCH.
//
// The provenance of the image is attached to it. With -sign-key, image and provenance are signed as cosign verifies them.
//
// To publish it: skopeo copy --all oci:dist/image:1.2.3 docker://registry/karpenter:1.2.3, or crane push dist/image ....
package main
