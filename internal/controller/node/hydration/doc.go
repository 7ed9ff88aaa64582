// Package hydration adds the label of the node class to nodes that an older version of Karpenter registered.
package hydration
