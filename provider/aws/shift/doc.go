// Package shift follows ARC zonal shifts of the cluster: zones that traffic is moved away from, in which nothing is launched
// until the shift is over. Its state is a copy of ARC's and may be lost.
package shift
