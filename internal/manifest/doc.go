// Package manifest reads Kubernetes manifests as people and tools write them: YAML or JSON, many documents in a file, lists
// of any kind, bare JSON arrays, files, directories and standard input.
//
// It promises three things. Every mistake names the file, the document, the line where it can be found, and the field; all
// mistakes are told at once. Objects of our own kinds are judged as the API server would judge them, and carry its defaults;
// those of Kubernetes are read leniently, as their server has judged them already. And large input is fast: JSON is cut into
// objects without being decoded, each object is decoded once, straight into its type, on all cores;
// pods that are written alike share their containers.
//
// Kinds that play no part are counted and skipped.
package manifest
