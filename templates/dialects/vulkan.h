{% extends "dialects/glsl.h" %}
{% block header %}
#version 450
{% endblock %}
