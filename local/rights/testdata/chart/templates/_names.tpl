{{- define "sample.name" -}}{{ .Release.Name }}-{{ .Values.account }}{{- end -}}
