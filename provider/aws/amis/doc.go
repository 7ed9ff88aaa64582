// Package amis finds the images that a node class selects and says for which nodes each of them is.
//
// An alias such as al2023@latest names a family of published images; their ids are looked up in SSM for the version of
// the cluster. All other terms are filters on images. Of several images for the same nodes one is chosen: not deprecated
// before deprecated, then the newest, then the greater name.
package amis
