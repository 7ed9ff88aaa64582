// Package hydration adds the label of the node class to claims that an older version of Karpenter created.
package hydration
