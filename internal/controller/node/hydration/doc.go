// Package hydration brings nodes that an older version registered up to today's form: it adds the label that names their
// node class.
package hydration
