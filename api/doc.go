// Package api registers every API kind of Karpenter with a scheme. The kinds
// are declared in the packages below, one package for each group and version.
package api
