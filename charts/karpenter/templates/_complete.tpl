{{/* Adds the default values that are missing. helm upgrade --reuse-values replaces the default values of this chart by those of the
chart that was installed before, for example upstream's. A value that was removed by null stays removed otherwise. */}}
{{- define "karpenter.complete" -}}
{{- $defaults := .Files.Get "files/values.yaml" | fromYaml }}
{{- if not (hasKey .Values "extraPermissions") }}
{{- include "karpenter.add" (list .Values $defaults) }}
{{- end }}
{{- include "karpenter.unquote" (list .Values $defaults) }}
{{- end }}

{{/* Replaces the texts "true", "false" and of whole numbers in the first map by booleans and numbers, where the second one has those.
Terraform, Argo CD and helm --set-string pass each value as text, and the text "false" counts as true in a template. */}}
{{- define "karpenter.unquote" -}}
{{- $values := first . }}
{{- range $key, $default := last . }}
{{- $value := get $values $key }}
{{- if and (kindIs "map" $default) (kindIs "map" $value) }}
{{- include "karpenter.unquote" (list $value $default) }}
{{- else if not (kindIs "string" $value) }}
{{- else if and (kindIs "bool" $default) (has $value (list "true" "false")) }}
{{- $_ := set $values $key (eq $value "true") }}
{{- else if and (or (kindIs "float64" $default) (kindIs "int64" $default) (kindIs "int" $default)) (regexMatch "^(0|[1-9][0-9]{0,17})$" $value) }}
{{- $_ := set $values $key (int64 $value) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Adds to the first map the keys that only the second one has, at all depths. */}}
{{- define "karpenter.add" -}}
{{- $values := first . }}
{{- range $key, $default := last . }}
{{- if not (hasKey $values $key) }}
{{- $_ := set $values $key $default }}
{{- else if and (kindIs "map" $default) (kindIs "map" (index $values $key)) }}
{{- include "karpenter.add" (list (index $values $key) $default) }}
{{- end }}
{{- end }}
{{- end }}
