// Package amis finds the images that a node class selects, and the labels of the nodes for which
// each image is made.
//
// An alias such as al2023@latest names a family of published images. The IDs of these images are in
// SSM parameters, with separate parameters for each version of Kubernetes. A term with ssmParameter
// names a parameter itself. All other selector terms are filters on images. Of several images for
// the same nodes, one is chosen: first one that is not deprecated, then the newest, then the one
// whose name is last in alphabetical order.
package amis
