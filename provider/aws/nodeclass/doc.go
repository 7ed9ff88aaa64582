// Package nodeclass has the controllers of EC2NodeClasses. They write the selected resources to the status, and
// problems to conditions. They write the hash by which drift is detected, and prevent the deletion of a class while
// claims use it.
package nodeclass
