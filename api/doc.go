// Package api registers every API kind of Karpenter with a scheme. The kinds
// themselves live in the packages below, one a group and version.
package api
