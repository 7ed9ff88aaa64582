// Package shift reads the zonal shifts of the cluster from Amazon Application Recovery Controller (ARC). A zonal shift
// moves traffic away from a zone. Nothing is launched in that zone until the shift is over. The state is a cache and
// may be lost.
package shift
