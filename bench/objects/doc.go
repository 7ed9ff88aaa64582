// Package objects measures the controller's view of a large cluster whose objects are as large as in production: nodes of 50 kB with
// hundreds of labels, conditions and images, and pods of 8 kB with environment, probes, volumes and field owners.
//
// Each object is decoded from JSON, shortened and stored as an informer does it, one at a time. There is no API server.
package objects
